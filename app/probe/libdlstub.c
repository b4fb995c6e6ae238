// SPDX-License-Identifier: Apache-2.0
//
// The names of libdl.so.2 for linking; see libcstub.c.

void dladdr(void)
{
}
void dlerror(void)
{
}
void dlopen(void)
{
}
void dlsym(void)
{
}
