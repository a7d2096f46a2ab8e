// Command cmd is jutegen as go generate runs it: it reads a schema and writes the Go files for it into the same folder.
//
//	go run github.com/lockkeeper/lockkeeper/jute/jutegen/cmd -import example.com/proto zookeeper.jute
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/lockkeeper/lockkeeper/jute/jutegen"
)

func main() {
	if err := run(os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "jutegen:", err)
		os.Exit(1)
	}
}

func run(args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("jutegen", flag.ContinueOnError)
	flags.SetOutput(stderr)
	importPath := flags.String("import", "", "import path of the package to generate")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *importPath == "" || flags.NArg() != 1 {
		return errors.New("usage: jutegen -import path schema")
	}
	file := flags.Arg(0)
	src, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	schema, err := jutegen.Parse(file, src)
	if err != nil {
		return err
	}
	files, err := jutegen.Generate(schema, *importPath)
	if err != nil {
		return err
	}
	return jutegen.Write(filepath.Dir(file), files)
}
