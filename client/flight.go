package client

// Bounds of the groups in which whole trees are handled.
const (
	firstWidth  = 16        // lists of the first flight
	maxWidth    = 256       // requests of a flight, about
	flightBytes = 256 << 10 // of names and paths in a flight, about
)

// nextWidth returns how many lists may be asked for at once, after a flight of n of them, of room that were allowed this time,
// with so many bytes of names: nobody knows how long a list is before it has come.
func nextWidth(width, room, n, size int) int {
	switch {
	case size > flightBytes:
		return max(1, n*flightBytes/size)
	case n < room:
		return width
	}
	return min(2*width, maxWidth)
}
