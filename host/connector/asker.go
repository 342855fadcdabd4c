package connector

// Request is what an enrichment asks of the world outside.
type Request struct {
	Method  string // "": GET
	URL     string
	Headers string // lines "name: value"
	Body    []byte
}

// Answer is what came of a request.
type Answer struct {
	Status  int32 // 0: there was no answer, and Err says why
	Headers string
	Body    []byte
	Err     string
}

// AskerStats are what an Asker has done so far, and what it does now.
type AskerStats struct {
	Requests  int64 // asked
	Shared    int64 // of them, those that an equal request under way answered
	CacheHits int64 // of them, those that the cache answered
	Answered  int64 // of the others, those with an answer that has a status
	Failed    int64 // and those without
	Attempts  int64 // at servers
	Retries   int64 // of them, those that were not the first of their request
	// TimedOut are attempts that took too long, and requests whose time was over before
	// they could be asked at all.
	TimedOut int64
	Held     int64 // attempts that have waited for the rate
	InFlight int64 // requests that are at servers now, or wait for their next attempt
	Waiting  int64 // requests that wait for others to end
}

// CountingAsker is an Asker that counts. Stats may be asked for at any time, from any
// goroutine.
type CountingAsker interface {
	Asker
	Stats() AskerStats
}

// Asker has requests answered, many at a time. Its limits, and what it does about
// failures, are its own business: an answer is the last word on its request.
//
// Told as a sequence: Ask again and again, while earlier requests are being answered.
// A caller that bounds how many of its requests are under way bounds what an Asker
// holds. Close comes last, and always.
type Asker interface {
	// Ask takes a request over, with all that it points to, and does not wait. It calls
	// done once, from any goroutine, perhaps before it returns, unless the Asker is
	// closed first. What done gets is not changed afterwards, and may be shared with
	// other requests.
	Ask(r Request, done func(*Answer))
	// Close gives up what is under way, whose done is not called any more. It returns
	// when all goroutines have ended. It may be called again, and from any goroutine.
	Close() error
}
