package zkserver

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// tick is the unit of times in /proc, USER_HZ, which is the same on all machines that run Linux today.
const tick = time.Second / 100

// cpuTime reads what a process and all its threads, those that have ended too, have computed so far.
func cpuTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return parseStat(text)
}

// Fields of /proc/<pid>/stat (proc_pid_stat(5)), counted from the state, which is the first behind the program's name.
const (
	statUser   = 14 - 3
	statSystem = 15 - 3
)

var errStat = errors.New("zkserver: /proc/<pid>/stat is not as expected")

// parseStat adds up user and system time. The name stands in parentheses, and may have some itself.
func parseStat(text []byte) (time.Duration, error) {
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) <= statSystem {
		return 0, fmt.Errorf("%w: %.200q", errStat, text)
	}
	var sum time.Duration
	for _, field := range [][]byte{fields[statUser], fields[statSystem]} {
		ticks, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%w: %.200q: %w", errStat, text, err)
		}
		sum += time.Duration(ticks) * tick
	}
	return sum, nil
}
