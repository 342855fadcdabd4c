package checkpoint

import (
	"github.com/wasmstream/wasmstream/host/connector"
	"github.com/wasmstream/wasmstream/host/stream"
)

// record is the manifest as it is written.
func (m *Manifest) record() *ManifestRecord {
	r := &ManifestRecord{
		Format: FormatVersion, Job: m.Job, History: uint32(m.History), Epoch: m.Epoch, TakenAtMs: int64(m.TakenAt),
		Final: m.Final, Savepoint: m.Savepoint, MaxParallelism: uint32(m.MaxParallelism),
	}
	for i := range m.Steps {
		s := &m.Steps[i]
		step := &StepRecord{Name: s.Name, Layout: s.Layout}
		for _, f := range s.Files {
			step.Files = append(step.Files, &FileRecord{
				Name: f.Name, Bytes: f.Bytes, Checksum: f.Checksum, Base: f.Base, Epoch: f.Epoch,
				GroupsFrom: uint32(f.Groups.From), GroupsTo: uint32(f.Groups.To),
			})
		}
		r.Steps = append(r.Steps, step)
	}
	for _, s := range m.Sources {
		source := &SourceRecord{Name: s.Name, Ended: s.Ended}
		for _, p := range s.Splits {
			source.Splits = append(source.Splits, &SplitRecord{
				Name: p.Name, Offset: p.Offset, Record: p.Record, MaxTimeMs: int64(p.MaxTime), Ended: p.Ended,
				Identity: p.Identity,
			})
		}
		r.Sources = append(r.Sources, source)
	}
	for _, s := range m.Sinks {
		r.Sinks = append(r.Sinks, &SinkRecord{Name: s.Name, Connector: s.Connector, Handover: s.Handover})
	}
	for _, s := range m.Modules {
		r.Modules = append(r.Modules, &ModuleRecord{Name: s.Name, Digest: s.Digest})
	}
	return r
}

// manifestOf is the manifest that was read. What does not fit becomes what check refuses.
func manifestOf(r *ManifestRecord) *Manifest {
	m := &Manifest{
		Job: r.Job, History: int(int32(r.History)), Epoch: r.Epoch, TakenAt: stream.ProcTime(r.TakenAtMs),
		Final: r.Final, Savepoint: r.Savepoint, MaxParallelism: int(int32(r.MaxParallelism)),
	}
	for _, s := range r.Steps {
		step := Step{Name: s.Name, Layout: s.Layout}
		for _, f := range s.Files {
			step.Files = append(step.Files, FileRef{
				Name: f.Name, Bytes: f.Bytes, Checksum: f.Checksum, Base: f.Base, Epoch: f.Epoch,
				Groups: groupsFrom(f.GroupsFrom, f.GroupsTo),
			})
		}
		m.Steps = append(m.Steps, step)
	}
	for _, s := range r.Sources {
		source := Source{Name: s.Name, Ended: s.Ended}
		for _, p := range s.Splits {
			source.Splits = append(source.Splits, Split{
				Name: p.Name, Position: connector.Position{Offset: p.Offset, Record: p.Record},
				MaxTime: stream.EventTime(p.MaxTimeMs), Ended: p.Ended, Identity: p.Identity,
			})
		}
		m.Sources = append(m.Sources, source)
	}
	for _, s := range r.Sinks {
		m.Sinks = append(m.Sinks, Sink{Name: s.Name, Connector: s.Connector, Handover: s.Handover})
	}
	for _, s := range r.Modules {
		m.Modules = append(m.Modules, Module{Name: s.Name, Digest: s.Digest})
	}
	return m
}

func groupsFrom(from, to uint32) Groups {
	if from > stream.MaxParallelismLimit || to > stream.MaxParallelismLimit {
		return Groups{}
	}
	return Groups{stream.KeyGroup(from), stream.KeyGroup(to)}
}
