package checkpoint

// Named is a checkpoint that was asked for by its name.
type Named struct {
	Manifest *Manifest
	// Committed says that it is known that every sink has committed it. Else the hand-overs are to be committed once more,
	// which does nothing where that was done.
	Committed bool
	// Newer is the manifest of a later one that may have been committed; "" if there is none. An import that nothing
	// followed is none.
	Newer string
}

// Find reads the checkpoint of a manifest's name. Of all others only the names count, so it is found whatever became of
// those.
func Find(store Store, name string) (Named, error) {
	m, err := LoadManifest(store, name)
	if err != nil {
		return Named{}, err
	}
	names, err := store.List()
	if err != nil {
		return Named{}, err
	}
	found := Named{Manifest: m}
	var newest Name
	for _, text := range names {
		n, ok := ParseName(text)
		if !ok || n.Kind != KindManifest && n.Kind != KindCommitted {
			continue
		}
		// Only within its own history does a later commit cover this one: another history began elsewhere, or with an
		// import of this one that has committed nothing yet.
		if n.History == m.History && n.Epoch >= m.Epoch && n.Kind == KindCommitted {
			found.Committed = true
		}
		later := n.History > m.History && (n.Epoch != m.Epoch || n.Kind == KindCommitted) || n.History == m.History && n.Epoch > m.Epoch
		if later && (n.History > newest.History || n.History == newest.History && n.Epoch > newest.Epoch) {
			newest = n
			found.Newer = ManifestName(n.History, n.Epoch)
		}
	}
	return found, nil
}
