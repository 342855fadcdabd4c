package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// startMax is how long a broker may take to be ready; 3 to 8 s are usual, after a crash the most.
	startMax = 3 * time.Minute
	// stopMax is how long one may take to stop by itself before it is killed.
	stopMax = 10 * time.Second
	// lookEvery is the pause between two looks at whether something has come about.
	lookEvery = 50 * time.Millisecond
)

// Options say how a broker is set up.
type Options struct {
	Release Release
	// Config is settings that are not those of config.go, by Kafka's names.
	Config map[string]string
}

// Broker is a Kafka of one node.
type Broker struct {
	// Bootstrap is its address, host:port.
	Bootstrap string

	release  Release
	dir      string // where its settings, data and log are; "" if it is not ours
	jars     string
	process  *process // nil while it does not run
	launched int      // how often it was started
}

// Launch starts a broker, which ends with this process at the latest. Its folder is made, and removed at the end.
func Launch(ctx context.Context, o Options) (*Broker, error) {
	jars, err := Fetch(ctx, o.Release)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "wasmstream-kafka-")
	if err != nil {
		return nil, err
	}
	b := &Broker{release: o.Release, dir: dir, jars: jars}
	if err := b.prepare(ctx, o); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := b.Restart(ctx); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// prepare writes the settings and formats the data.
func (b *Broker) prepare(ctx context.Context, o Options) error {
	ports, err := freePorts(2)
	if err != nil {
		return err
	}
	b.Bootstrap = "127.0.0.1:" + strconv.Itoa(ports[0])
	if err := os.WriteFile(b.settings(), settings(b.dir, o, ports[0], ports[1]), 0o644); err != nil {
		return err
	}
	arguments := []string{"-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-cp", filepath.Join(b.jars, "*"), "kafka.tools.StorageTool", "format", "--config", b.settings(), "--cluster-id", "wasmstreamTestClusterAA"}
	if v := releases[o.Release].transactionVersion; v != "" {
		arguments = append(arguments, "--feature", "transaction.version="+v)
	}
	if said, err := exec.CommandContext(ctx, "java", arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("the data of Kafka %s cannot be formatted: %w\n%s", b.release, err, said)
	}
	return nil
}

func (b *Broker) settings() string { return filepath.Join(b.dir, "server.properties") }

// Log is the file with what the broker logged since it was started last.
func (b *Broker) Log() string { return filepath.Join(b.dir, fmt.Sprintf("server-%d.log", b.launched)) }

var errNotOurs = errors.New("the broker was not started by this process, and is left alone")

// Restart starts a broker that was killed or stopped, on its data and its port, and waits until it is ready.
func (b *Broker) Restart(ctx context.Context) error {
	switch {
	case b.dir == "":
		return errNotOurs
	case b.process != nil:
		return fmt.Errorf("Kafka %s at %s runs already", b.release, b.Bootstrap)
	}
	b.launched++
	arguments := []string{"-Xms64m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError", "-Djava.awt.headless=true",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=info", "-Dorg.slf4j.simpleLogger.showDateTime=true",
		"-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss.SSS",
		"-cp", filepath.Join(b.jars, "*"), "kafka.Kafka", b.settings()}
	p, err := startProcess(b.dir, b.Log(), "java", arguments...)
	if err != nil {
		return err
	}
	b.process = p
	if err := b.waitReady(ctx); err != nil {
		return fmt.Errorf("Kafka %s at %s is not ready: %w\n%s", b.release, b.Bootstrap, err, b.lastLines())
	}
	return nil
}

var errEnded = errors.New("it has ended")

// waitReady waits until the broker serves requests.
func (b *Broker) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startMax)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Bootstrap))
	if err != nil {
		return err
	}
	defer cl.Close()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		err := answers(ctx, kadm.NewClient(cl))
		switch {
		case err == nil:
			return nil
		case b.process.ended():
			return errEnded
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return err
		}
	}
}

// answers tells whether a broker answers ApiVersions and knows of itself, which it does when its controller let it in.
func answers(ctx context.Context, admin *kadm.Client) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	versions, err := admin.ApiVersions(ctx)
	if err != nil {
		return err
	}
	for _, v := range versions {
		if v.Err != nil {
			return v.Err
		}
	}
	brokers, err := admin.ListBrokers(ctx)
	if err == nil && len(brokers) == 0 {
		err = errors.New("it counts no brokers")
	}
	return err
}

// lastLines is the end of the log, for an error.
func (b *Broker) lastLines() string {
	text, err := os.ReadFile(b.Log())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(string(text), "\n")
	return strings.Join(lines[max(0, len(lines)-25):], "\n")
}

// Kill ends the broker as a crash does. Nothing happens if it does not run.
func (b *Broker) Kill() error {
	if b.dir == "" {
		return errNotOurs
	}
	return b.end((*process).kill)
}

// Stop ends the broker as its operators do. Nothing happens if it does not run.
func (b *Broker) Stop() error {
	if b.dir == "" {
		return errNotOurs
	}
	return b.end((*process).stop)
}

func (b *Broker) end(how func(*process) error) error {
	p := b.process
	if p == nil {
		return nil
	}
	b.process = nil
	return how(p)
}

// Close kills the broker and removes its folder.
func (b *Broker) Close() error {
	if b.dir == "" {
		return nil
	}
	return errors.Join(b.Kill(), os.RemoveAll(b.dir))
}

// Ports from portMin on and below portMax are tried. Systems give higher ones to clients, and one of those could have the
// port when the broker comes back.
const (
	portMin = 20_000
	portMax = 32_000
)

// freePorts finds ports on which nobody listens.
func freePorts(n int) ([]int, error) {
	random := seeded()
	var ports []int
	for range 1000 {
		port := portMin + random.IntN(portMax-portMin)
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			continue
		}
		defer l.Close() // at the end, so that none is found twice
		if ports = append(ports, port); len(ports) == n {
			return ports, nil
		}
	}
	return nil, errors.New("no free port was found")
}
