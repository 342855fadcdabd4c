package kafka

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/wasmstream/wasmstream/host/connector"
)

// groupCommits commits positions to a consumer group, so that its lag can be watched.
// Nobody waits for it, and nothing depends on it: the latest positions win, and what
// fails is told and left to the next.
type groupCommits struct {
	admin *kadm.Client
	group string
	told  teller
	news  chan struct{} // holds one

	mu sync.Mutex
	at []connector.SplitPosition // nil: nothing to commit
}

// groupCommitTimeout bounds one attempt, and the last one after Close.
const (
	groupCommitTimeout = 10 * time.Second
	groupLastTimeout   = time.Second
)

func newGroupCommits(admin *kadm.Client, group string, log *slog.Logger) *groupCommits {
	return &groupCommits{admin: admin, group: group, told: teller{log: log}, news: make(chan struct{}, 1)}
}

func (g *groupCommits) put(at []connector.SplitPosition) {
	g.mu.Lock()
	g.at = append([]connector.SplitPosition{}, at...)
	g.mu.Unlock()
	signal(g.news)
}

// putBack keeps positions for the next attempt, unless there are later ones.
func (g *groupCommits) putBack(at []connector.SplitPosition) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at == nil {
		g.at = at
	}
}

func (g *groupCommits) take() []connector.SplitPosition {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := g.at
	g.at = nil
	return at
}

func (g *groupCommits) run(ctx context.Context) {
	for {
		select {
		case <-g.news:
			g.commit(ctx, groupCommitTimeout)
		case <-ctx.Done():
			g.commit(context.WithoutCancel(ctx), groupLastTimeout)
			return
		}
	}
}

func (g *groupCommits) commit(ctx context.Context, timeout time.Duration) {
	offsets := kadm.Offsets{}
	at := g.take()
	for _, p := range at {
		if topic, partition, err := parseSplit(p.Split); err == nil {
			offsets.AddOffset(topic, partition, p.Offset, -1)
		}
	}
	if len(offsets) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := g.admin.CommitAllOffsets(ctx, g.group, offsets); err != nil {
		g.putBack(at)
		g.told.warn("the offsets of a checkpoint could not be committed to the consumer group; the job does not need them", "group", g.group, "error", err)
	}
}
