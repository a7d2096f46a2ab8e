// Package embedded runs the server of a benchmark in a child process, so that what is said about memory and processor
// time concerns the client alone. The child is the same program again: its main function hands over to Main when it
// finds Flag as its first argument.
//
//	if len(os.Args) > 1 && os.Args[1] == embedded.Flag {
//		os.Exit(embedded.Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
//	}
//
// The child prints one line, the servers to connect to, and ends when its standard input does: with its parent, however
// that ends. It does not react to Ctrl-C, which a terminal sends to both: the parent still needs it for its clean-up.
package embedded
