module github.com/lockkeeper/lockkeeper/integration

go 1.25.0

require github.com/lockkeeper/lockkeeper v0.0.0

replace github.com/lockkeeper/lockkeeper => ../
