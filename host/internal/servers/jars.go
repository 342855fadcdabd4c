package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// complete is the file that says that a folder has all jars.
const complete = ".complete"

// Cached tells whether the jars of a release are on this machine.
func Cached(r Release) bool {
	dir, err := jarsDir(r)
	if err != nil {
		return false
	}
	_, err = os.Stat(filepath.Join(dir, complete))
	return err == nil
}

// Fetch brings the jars of a release into the user's cache, by Maven, unless they are there, and returns their folder.
// Two that fetch at once do each other no harm.
func Fetch(ctx context.Context, r Release) (string, error) {
	dir, err := jarsDir(r)
	if err != nil {
		return "", err
	}
	if Cached(r) {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), ".fetching-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	jars := filepath.Join(work, "jars")
	if err := resolve(ctx, work, jars, r); err != nil {
		return "", fmt.Errorf("Maven cannot fetch Kafka %s: %w", r.Version(), err)
	}
	err = os.Rename(jars, dir)
	if err != nil && !Cached(r) { // it is there if another was faster
		return "", err
	}
	return dir, nil
}

func jarsDir(r Release) (string, error) {
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		cache = filepath.Join(home, ".cache")
	}
	return filepath.Join(cache, "wasmstream-test", "kafka-"+r.Version()), nil
}

const pom = `<project><modelVersion>4.0.0</modelVersion><groupId>t</groupId><artifactId>t</artifactId><version>1</version>
<dependencies>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>%s</version></dependency>
<dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
</dependencies></project>
`

// otherLogs are bindings of SLF4J besides the simple one, with which it would be a matter of chance where the log goes.
var otherLogs = []string{"slf4j-reload4j-*.jar", "log4j-slf4j*-impl-*.jar"}

// resolve lets Maven put Kafka and all that it needs into jars.
func resolve(ctx context.Context, work, jars string, r Release) error {
	if err := os.WriteFile(filepath.Join(work, "pom.xml"), fmt.Appendf(nil, pom, r.Version()), 0o644); err != nil {
		return err
	}
	mvn := exec.CommandContext(ctx, "mvn", "-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory="+jars)
	mvn.Dir = work
	if said, err := mvn.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, said)
	}
	for _, pattern := range otherLogs {
		unwanted, err := filepath.Glob(filepath.Join(jars, pattern))
		if err != nil {
			return err
		}
		for _, jar := range unwanted {
			err = errors.Join(err, os.Remove(jar))
		}
		if err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(jars, complete), nil, 0o644)
}
