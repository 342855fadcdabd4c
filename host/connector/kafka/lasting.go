package kafka

// Lasting implements connector.Lasting: somebody has to look at what is lost.
func (*GoneError) Lasting() bool { return true }

// Lasting implements connector.Lasting: a topic does not come by itself.
func (*TopicError) Lasting() bool { return true }

// Lasting implements connector.Lasting: somebody has to look at what is lost.
func (*LostError) Lasting() bool { return true }

// Lasting implements connector.Lasting: two copies of a job that are started again
// would take over from each other for ever.
func (*FencedError) Lasting() bool { return true }
