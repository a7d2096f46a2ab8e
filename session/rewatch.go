package session

import (
	"github.com/lockkeeper/lockkeeper/jute"
	"github.com/lockkeeper/lockkeeper/proto"
)

// maxWatchChunk bounds the bytes of paths in one setWatches request, as in the Java client
// (ClientCnxn.SendThread.primeConnection), well under the server's frame limit.
const maxWatchChunk = 128 << 10

// rewatchLocked puts the session's one-shot watches into the prelude, in chunks that all carry the same relativeZxid: that
// of the newest reply to a request, never that of a notification, or the events of a multi could be lost
// (docs/protocol.md section 12).
func (s *Session) rewatchLocked(cx *connection) {
	var sw proto.SetWatches
	size := 0
	flush := func() {
		if size == 0 {
			return
		}
		sw.RelativeZxid = s.relativeZxid
		cx.preludeAdd(proto.XidSetWatches, proto.OpSetWatches, sw.AppendTo)
		sw, size = proto.SetWatches{}, 0
	}
	limit := min(maxWatchChunk, s.cfg.SendLimit/2)
	for kind, list := range [watchKinds]*[]string{&sw.DataWatches, &sw.ExistWatches, &sw.ChildWatches} {
		for path := range s.watches[kind] {
			*list = append(*list, path)
			if size += len(jute.AppendString(nil, path)); size >= limit {
				flush()
			}
		}
	}
	flush()
}
