package loopback

import (
	"fmt"
	"os"
	"syscall"
)

// Reserve borrows a port that the kernel chooses. The caller owns it until Close.
func Reserve() (*Port, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	number, err := bind(fd)
	if err != nil {
		_ = syscall.Close(fd) // nothing is bound to it
		return nil, err
	}
	return &Port{number: number, free: func() error { return syscall.Close(fd) }}, nil
}

// bind binds fd to a port of the kernel's choice. SO_REUSEADDR is what lets a listener bind the same port later.
func bind(fd int) (int, error) {
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return 0, os.NewSyscallError("setsockopt", err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, os.NewSyscallError("bind", err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		return 0, os.NewSyscallError("getsockname", err)
	}
	inet, ok := name.(*syscall.SockaddrInet4)
	if !ok {
		return 0, fmt.Errorf("loopback: the kernel names the socket %T", name)
	}
	return inet.Port, nil
}
