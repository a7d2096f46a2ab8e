//go:build unix && !linux

package zkserver

import "os"

// tempParent returns where data folders are made.
func tempParent() string { return os.TempDir() }
