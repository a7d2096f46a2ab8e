module github.com/lockkeeper/lockkeeper/bench/versus

go 1.25.0

require (
	github.com/go-zookeeper/zk v1.0.4
	github.com/lockkeeper/lockkeeper v0.0.0
	github.com/lockkeeper/lockkeeper/integration v0.0.0
)

replace github.com/lockkeeper/lockkeeper => ../../

replace github.com/lockkeeper/lockkeeper/integration => ../../integration
