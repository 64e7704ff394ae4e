/* SPDX-License-Identifier: BSD-3-Clause */
/* Breaks the connections to other PEs that this process has now, as a switch might. */
#pragma once

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Of the PMIx server that has started us: its connection is not ours to break. */
static int port_of_launcher(void) {
  static const char* const kNames[] = {"PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3"};
  for (size_t i = 0; i < sizeof kNames / sizeof *kNames; ++i) {
    const char* address = getenv(kNames[i]);
    if (address != NULL && strrchr(address, ':') != NULL) return atoi(strrchr(address, ':') + 1);
  }
  return 0;
}

/* Returns how many there were. */
static int break_connections(void) {
  int count = 0;
  for (int fd = 3; fd < 1024; ++fd) {
    struct sockaddr_in peer;
    socklen_t size = sizeof peer;
    if (getpeername(fd, (struct sockaddr*)&peer, &size) == 0 && peer.sin_family == AF_INET &&
        ntohs(peer.sin_port) != port_of_launcher())
      count += shutdown(fd, SHUT_RDWR) == 0;
  }
  return count;
}
