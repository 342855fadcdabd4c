package meter

// callee is what callers have to know of a function.
type callee struct {
	open  bool   // the host may call it, or the table
	leaf  bool   // it calls no function of the module
	paid  bool   // its callers are charged for its entry
	quiet bool   // and nothing else is charged or looked at in it
	pays  uint32 // what they are charged
}

// callee returns what is known of a function of the module, nil of an import.
func (r *rewriter) callee(index uint32) *callee {
	if n := int64(index) - int64(r.imported); n >= 0 && n < int64(len(r.callees)) {
		return &r.callees[n]
	}
	return nil
}

// findLeaves finds the functions that call no others, which is how most helpers are. Those
// that can be called by the code of the module alone are charged by their callers for what
// they were to be charged at their entry, and so are others that cost no more than an
// indirect call is charged for.
func (r *rewriter) findLeaves() {
	for n := range r.callees {
		if r.walk(n, true) != nil || r.f.calls {
			continue // what is wrong with it is told when it is rewritten
		}
		f, c := &r.f, &r.callees[n]
		f.settle()
		entry := f.nodes[0].charge
		c.leaf = true
		c.quiet = entry <= uncheckedMax && f.isQuiet()
		c.paid = !c.open || c.quiet && entry < costCallIndirect
		c.quiet = c.quiet && c.paid
		if c.paid {
			c.pays = entry
		}
	}
}

// isQuiet tells whether nothing is charged in a function but at its entry.
func (f *function) isQuiet() bool {
	for i := range f.nodes {
		if n := &f.nodes[i]; n.spends || i > 0 && n.charge > 0 {
			return false
		}
	}
	return true
}
