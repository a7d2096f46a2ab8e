package proto

import "strconv"

// Xids that are not the number of an ordinary request (docs/protocol.md section 5). Ordinary ones are positive.
const (
	XidNotification int32 = -1 // of what the server sends unasked
	XidPing         int32 = -2 // the server answers every ping with it
	XidAuth         int32 = -4 // by custom
	XidSetWatches   int32 = -8 // by custom
)

// Lengths of records that always take the same number of bytes.
const (
	StatSize          = 68
	RequestHeaderSize = 8
	ReplyHeaderSize   = 16
	MultiHeaderSize   = 9
)

// Zxid numbers a transaction of the ensemble. Greater means later, compared as a signed number. 0 and -1 stand for none.
type Zxid int64

// Epoch returns the upper half: how many leaders there have been.
func (z Zxid) Epoch() int32 { return int32(z >> 32) }

// Counter returns the lower half: the number of the transaction under its leader. Failed writes count too.
func (z Zxid) Counter() uint32 { return uint32(z) }

// String returns the zxid as ZooKeeper's logs write it: hexadecimal with 0x in front.
func (z Zxid) String() string { return "0x" + strconv.FormatUint(uint64(z), 16) }
