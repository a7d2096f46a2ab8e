package jute

import (
	"errors"
	"strconv"
)

// The ways in which bytes can fail to be a record. A DecodeError wraps one of them.
var (
	// ErrShort says that the input ended before the value did.
	ErrShort = errors.New("input too short")
	// ErrLength says that a length below -1 was announced.
	ErrLength = errors.New("impossible length")
	// ErrCount says that a count below -1, or one that the rest of the input cannot hold, was announced.
	ErrCount = errors.New("impossible count")
	// ErrNull says that a null stands where the record allows none.
	ErrNull = errors.New("unexpected null")
	// ErrRange says that a value was read that its record does not allow.
	ErrRange = errors.New("value out of range")
)

// DecodeError tells where and why decoding stopped. It matches its cause with errors.Is.
type DecodeError struct {
	Offset int    // position in the Reader's input, in bytes, at which the value starts
	Wanted string // kind of value: "int", "string", "vector", ...
	Length int64  // the announced length or count, or the number of bytes wanted
	Left   int    // bytes that were left
	Cause  error  // one of the Err values of this package, or what was given to Fail
}

func (e *DecodeError) Error() string {
	return "jute: " + e.Wanted + " at offset " + strconv.Itoa(e.Offset) + ": " + e.Cause.Error() +
		" (wanted " + strconv.FormatInt(e.Length, 10) + ", left " + strconv.Itoa(e.Left) + ")"
}

// Unwrap returns the cause.
func (e *DecodeError) Unwrap() error { return e.Cause }
