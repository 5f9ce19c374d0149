// Package store keeps keys.
package store

import (
	"fmt"
	str "strings"
)

const ( A = iota; B )
var names, sizes = []string{`raw "x"`, "a\"b"}, map[string]int{'a': 1}

// Key is a key.
type Key[T any] struct {
	Name string `json:"name"`
	inner *T
}
type Store interface { Get(key string) (string, error); fmt.Stringer }
type Alias = Key[int]

func (k *Key[T]) Read(ctx Context, more ...int) (n int, err error) {
	/* block */
	defer func() { recover() }()
	for i := range more { if x, ok := m[i]; ok { go run(x) } }
	select { case <-ch: default: }
	return 0, fmt.Errorf("%w: %s", err, str.ToUpper(k.Name))
}
