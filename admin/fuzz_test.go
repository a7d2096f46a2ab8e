package admin

import (
	"errors"
	"testing"
)

// FuzzParse gives any text to all parsers: none panics or loops, and an error is a *ParseError.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "\n", "imok", "rw", "Zookeeper version: 3.9.3-x, built on y\nLatency min/avg/max: 0/1.5/2\nZxid: 0x1\nMode: leader\n" +
			"Node count: 5\nProposal sizes last/min/max: -1/-1/-1\n",
		"zk_version\t3.9.3-x\nzk_server_state\tleader\nzk_avg_latency\t0.5\nzk_znode_count\t5\n",
		" /127.0.0.1:50590[1](queued=0,recved=3,sent=3,sid=0x1,lop=PING,est=17,to=4000,lcxid=0x2,lzxid=0x4,lresp=1,llat=1," +
			"minlat=0,avglat=1,maxlat=2,x=y)\n /[::1]:2[0](queued=0,recved=1,sent=0)\n null[0](queued=0,recved=1,sent=0)\n\n",
		"1 connections watching 2 paths\nTotal watches:3\n",
		"][](/:=,)\n", "a](\n", "Latency min/avg/max: NaN/-Infinity/-9223372036854775808\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		for word, parse := range map[string]func(*scanner){
			"srvr": func(sc *scanner) { sc.status(answer) },
			"mntr": func(sc *scanner) {
				m := sc.metrics(answer)
				for name := range m.Values {
					if _, ok := m.Int(name); ok {
						if _, ok := m.Float(name); !ok {
							t.Errorf("%q is an integer and no number", m.Values[name])
						}
					}
				}
			},
			"cons": func(sc *scanner) { sc.connections(answer) },
			"wchs": func(sc *scanner) { sc.watches(answer) },
		} {
			var sc scanner
			parse(&sc)
			err := sc.finish(word, Server{Addr: "zk1"})
			var pe *ParseError
			if err != nil && (!errors.As(err, &pe) || len(pe.Text) > shownText || pe.Err == nil || err.Error() == "") {
				t.Errorf("%s: %v", word, err)
			}
		}
	})
}
