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
