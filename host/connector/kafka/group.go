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

// groupCommitTimeout bounds one attempt, and groupLastTimeout all after Close: a cluster
// that nobody committed to before makes the topic for it first.
const (
	groupCommitTimeout = 10 * time.Second
	groupLastTimeout   = 5 * time.Second
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

// run commits until the context ends, and then until that succeeds once more. What is
// under way at that moment comes to its end: it is most often the end of a job.
func (g *groupCommits) run(ctx context.Context) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	context.AfterFunc(ctx, func() {
		wait(longer, groupLastTimeout)
		cancel()
	})
	for {
		select {
		case <-g.news:
			g.tell(g.commit(longer))
		case <-ctx.Done():
			err := g.commit(longer)
			for failures := 0; err != nil && passing(err) && wait(longer, backoff(failures)); failures++ {
				if now := g.commit(longer); now == nil || longer.Err() == nil {
					err = now // else all it says is that time ran out
				}
			}
			g.tell(err)
			return
		}
	}
}

func (g *groupCommits) tell(err error) {
	if err != nil {
		g.told.warn("the offsets of a checkpoint could not be committed to the consumer group; the job does not need them", "group", g.group, "error", err)
	}
}

// commit commits the latest positions, if there are any that are not.
func (g *groupCommits) commit(ctx context.Context) error {
	offsets := kadm.Offsets{}
	at := g.take()
	for _, p := range at {
		if topic, partition, err := parseSplit(p.Split); err == nil {
			offsets.AddOffset(topic, partition, p.Offset, -1)
		}
	}
	if len(offsets) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, groupCommitTimeout)
	defer cancel()
	err := g.admin.CommitAllOffsets(ctx, g.group, offsets)
	if err != nil {
		g.putBack(at)
	}
	return err
}
