package guest

import "github.com/wasmstream/wasmstream/host/stream"

// The rows that the ABI gives roles beside those of streams. All their columns may be
// NULL.
var (
	// RequestSchema is what an enrichment asks. Without a method it is GET.
	RequestSchema = stream.MustSchema(text("method"), text("url"), text("headers"), bytes("body"))
	// AnswerSchema is what it gets. Without a status, error says why there is none.
	AnswerSchema = stream.MustSchema(
		stream.Field{Name: "status", Type: stream.Type{Kind: stream.Int}}, text("headers"), bytes("body"), text("error"),
	)
)

// The columns of RequestSchema and AnswerSchema.
const (
	RequestMethod, RequestURL, RequestHeaders, RequestBody = 0, 1, 2, 3
	AnswerStatus, AnswerHeaders, AnswerBody, AnswerError   = 0, 1, 2, 3
)

func text(name string) stream.Field {
	return stream.Field{Name: name, Type: stream.Type{Kind: stream.String}}
}

func bytes(name string) stream.Field {
	return stream.Field{Name: name, Type: stream.Type{Kind: stream.Bytes}}
}

var requestRow = stream.NewChecker(RequestSchema)
