package kafka

import "fmt"

// Lasting implements connector.Lasting: somebody has to look at what is lost.
func (*GoneError) Lasting() bool { return true }

// Lasting implements connector.Lasting: a topic does not come by itself.
func (*TopicError) Lasting() bool { return true }

// Lasting implements connector.Lasting: somebody has to look at what is lost.
func (*LostError) Lasting() bool { return true }

// SettingError is that the brokers do not allow what the options ask for.
type SettingError struct{ err error }

func setting(format string, args ...any) error { return &SettingError{fmt.Errorf(format, args...)} }

// Error says what they do not allow.
func (e *SettingError) Error() string { return e.err.Error() }

// Unwrap is what they answered, if they did.
func (e *SettingError) Unwrap() error { return e.err }

// Lasting implements connector.Lasting.
func (*SettingError) Lasting() bool { return true }

// Lasting implements connector.Lasting: two copies of a job that are started again
// would take over from each other for ever.
func (*FencedError) Lasting() bool { return true }

// Lasting implements connector.Lasting: somebody has to bring the newest checkpoints.
func (*OvertakenError) Lasting() bool { return true }

// Lasting implements connector.Lasting: so is this one.
func (*UsedError) Lasting() bool { return true }
