// Package lines collects what a program prints, for tests that wait for a line of it.
package lines
