// Package driven runs programs in other languages that do what they are told: each has contenders, and does one command after
// another for each of them.
//
//	p, err := driven.Start(ctx, "kazoo", "/usr/bin/python3", "contenders.py")
//	answer, err := p.Call(ctx, "someone", "open", "mutex", servers, path)
//	...
//	err = p.Close()
//
// The language between them is lines. A command is the contender's name, a verb and arguments, parted by spaces; its answer is
// the name, and "ok" with a result or "failed" with a reason. The first line that a program says begins with "ready" and tells about
// itself. The end of its input ends it.
//
// One goroutine per program reads what it says, and ends with it; Close waits for that.
package driven
