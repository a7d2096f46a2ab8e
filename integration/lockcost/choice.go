package main

import (
	"fmt"
	"strings"
)

// choice is one of several things that a flag names.
type choice interface{ key() string }

// name is a choice that is nothing but its name.
type name string

func (n name) key() string { return string(n) }

func named(keys []string) (all []name) {
	for _, k := range keys {
		all = append(all, name(k))
	}
	return all
}

// keys returns the names of all, as a flag has them.
func keys[T choice](all []T) string {
	var names []string
	for _, c := range all {
		names = append(names, c.key())
	}
	return strings.Join(names, ",")
}

// chosen returns those that a flag's value names, in the order of all.
func chosen[T choice](flag, value string, all []T) (some []T, err error) {
	wanted := make(map[string]bool)
	for _, key := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' }) {
		wanted[key] = true
	}
	for _, c := range all {
		if wanted[c.key()] {
			some = append(some, c)
			delete(wanted, c.key())
		}
	}
	for key := range wanted {
		return nil, fmt.Errorf("%s names %q, which is none of %s", flag, key, keys(all))
	}
	if len(some) == 0 {
		return nil, fmt.Errorf("%s names none of %s", flag, keys(all))
	}
	return some, nil
}
