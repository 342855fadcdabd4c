package connector

import (
	"net/netip"
	"slices"
)

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

// MayReach tells a public address, or one of the networks that are listed.
func MayReach(a netip.Addr, private []netip.Prefix) bool {
	a = a.Unmap()
	holds := func(p netip.Prefix) bool { return p.Contains(a.WithZone("")) }
	if slices.ContainsFunc(private, holds) {
		return true
	}
	return a.Zone() == "" && a.IsGlobalUnicast() && !a.IsPrivate() && !slices.ContainsFunc(special, holds)
}
