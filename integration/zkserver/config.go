package zkserver

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// member is one line server.N of a configuration file: the ports on which others reach that member.
type member struct {
	quorum, election int
	client           int // 0 leaves it to each member's own clientPort
}

func (m member) String() string {
	text := fmt.Sprintf("127.0.0.1:%d:%d", m.quorum, m.election)
	if m.client != 0 {
		text += fmt.Sprintf(";127.0.0.1:%d", m.client)
	}
	return text
}

// configFile returns the text of one server's configuration. members is empty for a standalone server; its entries are
// numbered from 1.
func configFile(o Options, dataDir string, clientPort int, members []member) string {
	keys := map[string]string{
		"tickTime":               strconv.FormatInt(o.TickTime.Milliseconds(), 10),
		"dataDir":                dataDir,
		"clientPort":             strconv.Itoa(clientPort),
		"clientPortAddress":      "127.0.0.1",
		"maxClientCnxns":         "0",
		"admin.enableServer":     "false",
		"4lw.commands.whitelist": "*",
		"extendedTypesEnabled":   "true",
	}
	if len(members) > 0 {
		keys["initLimit"] = strconv.Itoa(o.InitLimit)
		keys["syncLimit"] = strconv.Itoa(o.SyncLimit)
	}
	for i, m := range members {
		keys[fmt.Sprintf("server.%d", i+1)] = m.String()
	}
	maps.Copy(keys, o.Config)
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		fmt.Fprintf(&text, "%s=%s\n", key, keys[key])
	}
	return text.String()
}

// writeConfig lays out dir for server id and returns the path of its configuration file.
func writeConfig(o Options, dir string, id, clientPort int, members []member) (string, error) {
	dataDir := filepath.Join(dir, "data")
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return "", err
	}
	if len(members) > 0 {
		if err := os.WriteFile(filepath.Join(dataDir, "myid"), strconv.AppendInt(nil, int64(id), 10), 0o600); err != nil {
			return "", err
		}
	}
	path := filepath.Join(dir, "zoo.cfg")
	return path, os.WriteFile(path, []byte(configFile(o, dataDir, clientPort, members)), 0o600)
}

// arguments returns the command line that runs a server with the configuration file.
func (in installation) arguments(o Options, dir, config string) ([]string, error) {
	args := []string{"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"}
	level := "INFO"
	if o.Benchmark {
		args, level = []string{"-Xms1g", "-Xmx1g"}, "WARN"
	}
	logging, err := in.logFlags(dir, level)
	if err != nil {
		return nil, err
	}
	args = append(args, logging...)
	for _, key := range slices.Sorted(maps.Keys(o.Properties)) {
		args = append(args, "-D"+key+"="+o.Properties[key])
	}
	args = append(args, o.JVMFlags...)
	class := singleClass
	if o.Members > 1 {
		class = memberClass
	}
	return append(args, "-cp", strings.Join(in.jars, string(filepath.ListSeparator)), class, config), nil
}
