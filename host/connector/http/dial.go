package http

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
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
		if !d.mayReach(a) {
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

// special are ranges that no public server has, beside those that netip knows: what
// they lead to is this machine, its network, or another address written differently.
var special = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
	"240.0.0.0/4", "::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fec0::/10",
)

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

// mayReach tells a public address, or one that is listed.
func (d *dialer) mayReach(a netip.Addr) bool {
	a = a.Unmap()
	holds := func(p netip.Prefix) bool { return p.Contains(a.WithZone("")) }
	if slices.ContainsFunc(d.private, holds) {
		return true
	}
	return a.Zone() == "" && a.IsGlobalUnicast() && !a.IsPrivate() && !slices.ContainsFunc(special, holds)
}
