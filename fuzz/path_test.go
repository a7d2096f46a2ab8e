package fuzz_test

import (
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/lockkeeper/lockkeeper/conn"
	"github.com/lockkeeper/lockkeeper/proto"
)

// FuzzPath compares the check of paths with a slow one that follows the rules of docs/protocol.md section 15 one by one.
func FuzzPath(f *testing.F) {
	for _, s := range []string{
		"/", "", "a", "/a", "/a/", "//", "/a//b", "/.", "/..", "/a/./b", "/a/..", "/a.b/..c", "/\x00", "/\x1f", "/\x7f", "/\u0080", "/\u009f",
		"/\u00e9", "/\ud7ff", "/\ue000", "/\uf8ff", "/\uf900", "/\uffef", "/\ufff0", "/\U0001f600", "/\xff", "/\xed\xa0\x80",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		err := proto.ValidatePath(path)
		require.Equal(t, legalPath(path), err == nil, "%q: %v", path, err)
		seqErr := proto.ValidateSequentialPath(path)
		require.Equal(t, legalPath(path+"1"), seqErr == nil, "%q: %v", path, seqErr)
		for _, err := range []error{err, seqErr} {
			if err == nil {
				continue
			}
			var pe *proto.PathError
			require.ErrorAs(t, err, &pe)
			require.Equal(t, path, pe.Path)
			require.LessOrEqual(t, pe.Offset, len(path))
			require.GreaterOrEqual(t, pe.Offset, 0)
			require.NotEmpty(t, pe.Reason)
		}
	})
}

func legalPath(path string) bool {
	if path == "/" {
		return true
	}
	if !strings.HasPrefix(path, "/") || !utf8.ValidString(path) {
		return false
	}
	for _, part := range strings.Split(path[1:], "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	for _, unit := range utf16.Encode([]rune(path)) {
		if unit <= 0x1f || unit >= 0x7f && unit <= 0x9f || unit >= 0xd800 && unit <= 0xf8ff || unit >= 0xfff0 {
			return false
		}
	}
	return true
}

// FuzzAddr checks that what is accepted as a server's address is one for good.
func FuzzAddr(f *testing.F) {
	for _, s := range []string{"host", "host:1", "::1", "[::1]", "[::1]:2181", "fe80::1%lo0", "host:", "[", "a:b:c", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		addr, err := conn.ParseAddr(s)
		if err != nil {
			var ae *conn.AddrError
			require.ErrorAs(t, err, &ae)
			require.Equal(t, s, ae.Addr)
			return
		}
		again, err := conn.ParseAddr(addr)
		require.NoError(t, err)
		require.Equal(t, addr, again)
	})
}
