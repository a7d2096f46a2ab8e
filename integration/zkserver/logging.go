package zkserver

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const logbackConfig = `<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%%d{HH:mm:ss.SSS} [%%thread] %%-5level %%logger{0} - %%msg%%n</pattern></encoder>
  </appender>
  <root level="%s"><appender-ref ref="OUT"/></root>
</configuration>
`

const log4jConfig = `log4j.rootLogger=%s, OUT
log4j.appender.OUT=org.apache.log4j.ConsoleAppender
log4j.appender.OUT.layout=org.apache.log4j.PatternLayout
log4j.appender.OUT.layout.ConversionPattern=%%d{HH:mm:ss.SSS} [%%t] %%-5p %%c{1} - %%m%%n
`

// logFlags returns the flags that make any of the logging libraries a release came with write to the console at one
// level: SLF4J's own (Debian), logback (3.8 and later), log4j (before). Files they need are written to dir.
func (in installation) logFlags(dir, level string) ([]string, error) {
	flags := []string{
		"-Dzookeeper.jmx.log4j.disable=true",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=" + strings.ToLower(level),
		"-Dorg.slf4j.simpleLogger.showDateTime=true",
		"-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
		"-Dorg.slf4j.simpleLogger.showShortLogName=true",
	}
	for _, l := range []struct{ name, config, flag string }{
		{"logback.xml", logbackConfig, "-Dlogback.configurationFile="},
		{"log4j.properties", log4jConfig, "-Dlog4j.configuration=file:"},
	} {
		path := filepath.Join(dir, l.name)
		if err := os.WriteFile(path, fmt.Appendf(nil, l.config, level), 0o600); err != nil {
			return nil, err
		}
		flags = append(flags, l.flag+path)
	}
	return flags, nil
}

// tail returns the last lines of the file at path, up to n, or why there are none.
func tail(path string, n int) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
