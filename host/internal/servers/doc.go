// Package servers starts real servers for tests: Apache Kafka, one node that is broker and controller, from jars that
// Maven has fetched.
//
// A test that reads and writes topics of its own takes the broker that all tests share:
//
//	broker := servers.Shared(t, servers.Kafka4)
//	topic := broker.Topic(t, 3)
//
// One that kills its broker, or sets it up otherwise, starts one for itself with Start. Where java or mvn is absent the
// test is skipped, as package needs says.
//
// It promises:
//
//	A. A broker is ready when it is handed out: it has answered ApiVersions and counts itself among the brokers.
//	B. A broker ends with the process that started it, however that ends, and its folder goes with it.
//	C. A broker that was killed or stopped comes back on its data and on its port.
//	D. There is one shared broker of a release per test binary, or one for all of them if the release's environment
//	   variable names one; the command in kafka/ starts them so.
//
// No goroutine waits for a broker, so that tests may look for those that leaked.
//
// B needs a POSIX shell; where there is none, tests are skipped.
package servers
