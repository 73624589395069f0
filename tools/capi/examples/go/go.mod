module fpstore/example

go 1.19
