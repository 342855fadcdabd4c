package http

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/wasmstream/wasmstream/host/connector"
)

// dialer connects to public addresses, and to those private ones that are listed. It
// looks a host up itself and dials the address that it has checked: a name may stand
// for another address the next time it is looked up.
type dialer struct {
	net.Dialer
	private []netip.Prefix
}

func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addresses, err := lookUp(ctx, host)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, a := range addresses {
		if !connector.MayReach(a, d.private) {
			errs = append(errs, lasting("not allowed: %s is at %s, which is not a public address; the job may list its network in private", host, a))
			continue
		}
		c, err := d.DialContext(ctx, network, net.JoinHostPort(a.String(), port))
		if err == nil {
			return c, nil
		}
		errs = append([]error{err}, errs...) // before those that last: the next attempt may do
	}
	if len(errs) == 0 {
		return nil, fmt.Errorf("%s has no address", host)
	}
	return nil, errs[0]
}

func lookUp(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	var missing *net.DNSError
	if errors.As(err, &missing) {
		return nil, fmt.Errorf("%s: %s", host, missing.Err) // without the resolver's address
	}
	return addresses, err
}
