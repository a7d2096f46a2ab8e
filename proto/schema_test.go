package proto_test

import (
	"go/format"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockkeeper/lockkeeper/internal/assert"
	"github.com/lockkeeper/lockkeeper/internal/require"
	"github.com/lockkeeper/lockkeeper/jute/jutegen"
)

const schemaFile = "zookeeper.jute"

func parseSchema(t *testing.T, file string) *jutegen.Schema {
	t.Helper()
	src, err := os.ReadFile(file)
	require.NoError(t, err)
	schema, err := jutegen.Parse(file, src)
	require.NoError(t, err)
	return schema
}

// TestGeneratedFilesAreCurrent: go generate would change nothing, and no generated file is left over.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	files, err := jutegen.Generate(parseSchema(t, schemaFile), "github.com/lockkeeper/lockkeeper/proto")
	require.NoError(t, err)
	var names []string
	for _, f := range files {
		want, err := format.Source(f.Source)
		require.NoError(t, err)
		got, err := os.ReadFile(f.Name)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got), f.Name)
		names = append(names, f.Name)
	}
	there, err := filepath.Glob("z*.go")
	require.NoError(t, err)
	assert.ElementsMatch(t, names, there)
}

// notOurs are upstream's records in the modules data and proto that no client sends or gets.
var notOurs = []string{
	"StatPersisted",          // on the server's disk
	"StatPersistedV1",        // the same in 3.4
	"SetSASLRequest",         // never sent
	"GetMaxChildrenRequest",  // without an opcode
	"GetMaxChildrenResponse", // without an opcode
	"SetMaxChildrenRequest",  // without an opcode
}

// newer are our records and fields that some releases of upstream's schema do not have: the record, or record.field.
var newer = []string{
	"AddWatchRequest", "CheckWatchesRequest", "ClientInfo", "ConnectRequest.readOnly", "ConnectResponse.readOnly",
	"Create2Response", "CreateTTLRequest", "ErrorResponse", "GetAllChildrenNumberRequest", "GetAllChildrenNumberResponse",
	"GetEphemeralsRequest", "GetEphemeralsResponse", "ReconfigRequest", "RemoveWatchesRequest", "SetWatches2",
	"WhoAmIResponse",
}

// TestSchemaMatchesUpstream compares our schema with the one of a ZooKeeper source tree, record by record. ZK_SOURCE names
// the tree, or the file.
func TestSchemaMatchesUpstream(t *testing.T) {
	source := os.Getenv("ZK_SOURCE")
	if source == "" {
		t.Skip("ZK_SOURCE does not name a ZooKeeper source tree")
	}
	ours, upstream := parseSchema(t, schemaFile), parseSchema(t, upstreamFile(t, source))
	for _, m := range ours.Modules {
		for _, r := range m.Records {
			up := upstreamRecord(upstream, r.Name)
			if up == nil {
				assert.Contains(t, newer, r.Name, "upstream has no record %s", r.Name)
				continue
			}
			assert.Equal(t, shape(up, up), shape(r, up), "record %s", r.Name)
		}
	}
	for _, m := range upstream.Modules {
		for _, r := range m.Records {
			if clientModule(m) && ours.Record(r.Name) == nil {
				assert.Contains(t, notOurs, r.Name, "upstream has a record %s that we lack", r.Name)
			}
		}
	}
}

// upstreamFile finds the schema in the places where releases have it.
func upstreamFile(t *testing.T, source string) string {
	t.Helper()
	for _, path := range []string{"", "zookeeper-jute/src/main/resources/zookeeper.jute", "src/zookeeper.jute"} {
		file := filepath.Join(source, path)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			return file
		}
	}
	require.Fail(t, "no zookeeper.jute in ZK_SOURCE", source)
	return ""
}

func clientModule(m *jutegen.Module) bool {
	return strings.HasSuffix(m.Name, ".data") || strings.HasSuffix(m.Name, ".proto")
}

func upstreamRecord(s *jutegen.Schema, name string) *jutegen.Record {
	for _, m := range s.Modules {
		for _, r := range m.Records {
			if clientModule(m) && r.Name == name {
				return r
			}
		}
	}
	return nil
}

// shape lists a record's fields in order, without those that are newer than upstream's.
func shape(r, up *jutegen.Record) string {
	var b strings.Builder
	for _, f := range r.Fields {
		if slices.Contains(newer, r.Name+"."+f.Name) && !hasField(up, f.Name) {
			continue
		}
		b.WriteString(f.Type.String() + " " + f.Name + ";\n")
	}
	return b.String()
}

func hasField(r *jutegen.Record, name string) bool {
	return slices.ContainsFunc(r.Fields, func(f *jutegen.Field) bool { return f.Name == name })
}
