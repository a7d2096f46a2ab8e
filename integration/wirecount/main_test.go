package wirecount_test

import (
	"testing"

	"github.com/lockkeeper/lockkeeper/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }
