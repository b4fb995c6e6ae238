// SPDX-License-Identifier: Apache-2.0
//
// What the probe is linked to in place of the build machine's libc: the names alone, each with the version that
// libc-<arch>.map gives it, so that the program asks the board for nothing newer. Never shipped.

#define STUB(name) \
    void name(void) \
    { \
    }

STUB(__errno_location)
STUB(__libc_start_main)
STUB(_exit)
STUB(access)
STUB(clock_gettime)
STUB(close)
STUB(closedir)
STUB(dup2)
STUB(fcntl)
STUB(fork)
STUB(free)
STUB(kill)
STUB(memchr)
STUB(memcmp)
STUB(memcpy)
STUB(memmove)
STUB(memset)
STUB(open)
STUB(opendir)
STUB(pipe)
STUB(poll)
STUB(prctl)
STUB(qsort)
STUB(read)
STUB(readdir)
STUB(realloc)
STUB(realpath)
STUB(setpgid)
STUB(setrlimit)
STUB(signal)
STUB(strcmp)
STUB(strerror)
STUB(strlen)
STUB(strstr)
STUB(waitpid)
STUB(write)
