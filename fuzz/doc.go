// Package fuzz holds the fuzz targets over the public packages jute, proto and conn: what arrives from the network, in any
// form, must not make them panic, hang, or allocate out of proportion, and what they accept must survive being written and
// read again.
//
//	go test -fuzz FuzzFrames ./fuzz
//
// Without -fuzz the targets run over their seeds, which our own encoder makes; corpora from real traffic are not here yet. One rule holds for every input that is kept or
// sent: it contains no createTTL (operation 21) with a mode that is not a TTL mode or a TTL out of range
// (docs/protocol.md section 21). Inputs stay in this process: no target sends anything to a server.
package fuzz
