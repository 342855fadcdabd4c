// Package http answers requests of enrichments by HTTP. It is an Asker: see package
// connector.
//
// Invariants:
//
//	(A) Nothing is asked that the options do not allow: the URL is held against the
//	    patterns, and the address that its host stands for against what is public, on
//	    each connection anew. Redirects are not followed, and no proxy is used.
//	(L) At most InFlight requests are under way, attempts are no closer to each other
//	    than Rate says, and each request has its answer within Timeout of its Ask.
//	(M) What is held is bounded: by the caller's requests, InFlight bodies of at most
//	    BodyBytesMax, and the cache's bytes.
//	(R) A request is tried again only for what the options name, and in all no more
//	    often than the budget allows.
//	(S) Equal requests that are under way at one time are one, if there is a cache.
//	(G) After Close no goroutine is left.
//
// Caveats: a request may reach its server more than once, by a retry here or because
// the job asks again after a recovery, whatever its method. Requests are equal if
// method, URL, headers and body are. Equal requests that share an attempt share its
// failure as well.
package http
