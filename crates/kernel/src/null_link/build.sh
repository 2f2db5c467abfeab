#!/bin/sh
# Compiles egress.bpf.c and notes of which source the object was made. Needs clang and the kernel's headers for user space.
#
#   build.sh           writes egress.bpf.o and egress.bpf.c.sha256
#   build.sh --check   the source is the one that the object was made of; and where CLANG (clang-14) can be had, compiling it
#                      gives the same object, byte for byte
set -eu
cd "$(dirname "$0")"
clang=${CLANG:-clang-14}
compile() {
	"$clang" -target bpf -mcpu=v2 -O2 -g -Wall -Werror -I"/usr/include/$(uname -m)-linux-gnu" \
		-fdebug-compilation-dir=. -c egress.bpf.c -o "$1"
}
if [ "${1:-}" != --check ]; then
	compile egress.bpf.o
	sha256sum egress.bpf.c >egress.bpf.c.sha256
	exit
fi
sha256sum --quiet -c egress.bpf.c.sha256
if ! command -v "$clang" >/dev/null; then
	echo "skipped: there is no $clang to compile egress.bpf.c with"
	exit
fi
aside=$(mktemp)
trap 'rm -f "$aside"' EXIT
compile "$aside"
cmp "$aside" egress.bpf.o
