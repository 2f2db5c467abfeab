#!/bin/sh
# Compiles the BPF programs of this folder and notes of which sources the objects were made. Needs clang and the kernel's
# headers for user space.
#
#   build.sh           writes *.bpf.o and sources.sha256
#   build.sh --check   the sources are those that the objects were made of; and where CLANG (clang-14) can be had, compiling
#                      them gives the same objects, byte for byte
set -eu
cd "$(dirname "$0")"
clang=${CLANG:-clang-14}
compile() {
	"$clang" -target bpf -mcpu=v2 -O2 -g -Wall -Werror -I"/usr/include/$(uname -m)-linux-gnu" \
		-fdebug-compilation-dir=. -c "$1.bpf.c" -o "$2"
}
programs="egress ack_burn redirect"
if [ "${1:-}" != --check ]; then
	for program in $programs; do
		compile "$program" "$program.bpf.o"
	done
	sha256sum ./*.h ./*.c >sources.sha256
	exit
fi
sha256sum --quiet -c sources.sha256
if ! command -v "$clang" >/dev/null; then
	echo "skipped: there is no $clang to compile the BPF programs with"
	exit
fi
aside=$(mktemp)
trap 'rm -f "$aside"' EXIT
for program in $programs; do
	compile "$program" "$aside"
	cmp "$aside" "$program.bpf.o"
done
