package jutegen

import (
	"strings"
	"unicode"
)

// goName returns the exported Go name of a record or field: id, acl and ttl become initialisms, the other words begin with a
// capital letter (house rule: Xid and Zxid are words). It is empty when there is none.
func goName(name string) string {
	var b strings.Builder
	for _, part := range strings.Split(name, "_") {
		for _, w := range words(part) {
			switch strings.ToLower(w) {
			case "id", "acl", "ttl":
				b.WriteString(strings.ToUpper(w))
			default:
				b.WriteString(strings.ToUpper(w[:1]) + w[1:])
			}
		}
	}
	if s := b.String(); s != "" && unicode.IsUpper(rune(s[0])) {
		return s
	}
	return ""
}

// words splits a name in camel case. A row of capitals is one word, but for its last letter when small letters follow:
// GetACLRequest is Get, ACL, Request.
func words(name string) []string {
	var out []string
	start := 0
	for i := 1; i < len(name); i++ {
		prev, c := rune(name[i-1]), rune(name[i])
		cut := start
		switch {
		case unicode.IsUpper(c) && !unicode.IsUpper(prev):
			cut = i
		case unicode.IsUpper(prev) && unicode.IsLower(c):
			cut = i - 1
		}
		if cut > start {
			out = append(out, name[start:cut])
			start = cut
		}
	}
	if start < len(name) {
		out = append(out, name[start:])
	}
	return out
}
