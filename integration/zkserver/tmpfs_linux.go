package zkserver

import (
	"os"
	"syscall"
)

const (
	memoryFolder = "/dev/shm"
	// Containers may have a memory file system of 64 MiB, which the transaction logs of a few tests fill.
	memoryNeeded = 512 << 20
)

// tempParent returns where data folders are made: in memory when there is room, since a test's writes wait for no disk.
func tempParent() string {
	var fs syscall.Statfs_t
	if syscall.Statfs(memoryFolder, &fs) != nil || fs.Bavail*uint64(fs.Bsize) < memoryNeeded {
		return os.TempDir()
	}
	return memoryFolder
}
