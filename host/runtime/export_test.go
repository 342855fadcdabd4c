package runtime

// CheckpointCounts are how many checkpoints of a job were completed and came to
// nothing.
func CheckpointCounts(j *Job) (completed, failed int64) {
	return j.stats.checkpoints.Completed.Load(), j.stats.checkpoints.Failed.Load()
}
