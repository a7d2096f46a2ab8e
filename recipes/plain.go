package recipes

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/lockkeeper/lockkeeper/client"
)

// With plain names (PlainNames) the data of a znode does what the UUID in its name does otherwise: it ends in a mark that no
// other attempt has. A znode is ours if it has our mark and belongs to our session. Which of those in a list are ours is known
// after they have been read; until then they are suspects, and count like anybody's. They are read only if there is a reason
// for suspicion: if the outcome of a create is or was unknown.

// markStart is what the mark has before its UUID.
const markStart = " id="

// checkStem refuses prefixes from which a number could not be told.
func checkStem(stem string) error {
	switch {
	case stem == "":
		return errors.New("PlainNames without a prefix")
	case strings.Contains(stem, "/"):
		return errors.New("PlainNames with a slash")
	case strings.HasSuffix(stem, "--") || stem == "-" || stem[len(stem)-1] >= '0' && stem[len(stem)-1] <= '9':
		return errors.New("PlainNames that end as a number begins: " + stem)
	}
	return nil
}

// parsePlain reads a plain name: exactly the stem, and a number.
func parsePlain(name []byte, stem string) (seq int32, ok bool) {
	if !bytes.HasPrefix(name, []byte(stem)) {
		return 0, false
	}
	return parseNumber(name[len(stem):])
}

// newMark gives the attempt a mark.
func (ct *contender) newMark() {
	ct.mark = string(appendGUID([]byte(markStart), true))
	ct.suspects, ct.read = nil, nil
}

// unmarked is the data of a znode without the mark, if it ends in one, whosever.
func unmarked(data []byte) []byte {
	i := len(data) - len(markStart) - guidLen
	if i < 0 || string(data[i:i+len(markStart)]) != markStart {
		return data
	}
	for j, d := range data[i+len(markStart):] {
		dash := j == 8 || j == 13 || j == 18 || j == 23
		if dash != (d == '-') || !dash && !(d >= '0' && d <= '9' || d >= 'a' && d <= 'f') {
			return data
		}
	}
	return data[:i:i]
}

// data is that of the znodes of this attempt.
func (ct *contender) data() []byte {
	data := ct.b.nodeData(ct.gen)
	if ct.claim.stem == nil {
		return data
	}
	ct.marked = append(append(ct.marked[:0], data...), ct.mark...)
	return ct.marked
}

// search makes c delete what this attempt may have made, besides node, which is known, or "".
func (ct *contender) search(c *client.Cleanup, node string) {
	if ct.claim.stem != nil {
		ct.gen.DeleteMine(c, ct.b.dir, string(ct.prefix), ct.mark, node)
		return
	}
	ct.gen.DeleteMatching(c, ct.b.dir, ct.guid()) // which node has as well
}

// stray says whether a child is known to be one of ours, while a create is or was unknown; contends, whether its name is that
// of a contender. A plain name that is not known yet makes a suspect. Numbers are given out once as long as our own znode keeps
// the path from vanishing, so what was read of a name stays true until the path is made again.
func (ct *contender) stray(name []byte, contends bool) bool {
	if ct.claim.stem == nil {
		return bytes.HasPrefix(name, ct.prefix)
	}
	czxid, known := ct.read[string(name)]
	if !known && contends {
		ct.suspects = append(ct.suspects, string(name))
	}
	return czxid != 0
}

// sift reads the suspects, in one flight unless there are very many, and says whether the queue has to be read again: because
// some are ours, so that they do not keep us waiting, or because the list is worthless.
func (ct *contender) sift(ctx context.Context) (again bool, err error) {
	for len(ct.suspects) > 0 && err == nil {
		part := ct.suspects[:min(len(ct.suspects), participantBatch)]
		ct.suspects = ct.suspects[len(part):]
		var some bool
		some, err = ct.readSuspects(ctx, part)
		again = again || some
	}
	if ct.via != ct.conn { // another connection than the list's (rule 4)
		ct.listed, again = false, true
	}
	return again && err == nil, err
}

// readSuspects reads some znodes, and says whether any is ours. Those that are gone by now are nobody's, and those that may not
// be read are not ours, whose access list is known to let us.
func (ct *contender) readSuspects(ctx context.Context, names []string) (ours bool, err error) {
	calls := make([]client.GetCall, len(names))
	for i, name := range names {
		calls[i] = ct.g.Get(child(ct.b.dir, []byte(name)), nil)
	}
	if err := ct.flight(ctx); err != nil {
		return false, err
	}
	if ct.read == nil {
		ct.read = make(map[string]int64)
	}
	for i, name := range names {
		data, stat, err := calls[i].Data()
		switch {
		case err == nil && stat.EphemeralOwner == ct.gen.SessionID() && bytes.HasSuffix(data, []byte(ct.mark)):
			ct.read[name], ours = stat.Czxid, true
		case err == nil, errors.Is(err, client.ErrNoNode), errors.Is(err, client.ErrNoAuth):
			ct.read[name] = 0
		default:
			return ours, err
		}
	}
	return ours, nil
}

// keepOldestMarked is keepOldest for plain names: what there is to choose from, besides strays, is read first. Owner and token
// are those of the Stat that came with the data.
func (ct *contender) keepOldestMarked(ctx context.Context, strays []string) error {
	if again, err := ct.sift(ctx); err != nil || !again && len(strays) == 0 {
		return err
	}
	if ct.read == nil {
		ct.read = make(map[string]int64)
	}
	ct.read[ct.name] = ct.czxid
	oldest, seq := ct.name, ct.seq
	for name, czxid := range ct.read {
		if n, _, _ := ct.claim.parse([]byte(name)); czxid != 0 && older(n, seq) {
			oldest, seq = name, n
		}
	}
	if oldest != ct.name {
		ct.adopt(child(ct.b.dir, []byte(oldest)), ct.read[oldest])
	}
	for name, czxid := range ct.read {
		if czxid != 0 && name != oldest {
			ct.gen.Delete(new(client.Cleanup), child(ct.b.dir, []byte(name)), nil)
		}
	}
	return ct.list(ctx, false)
}
