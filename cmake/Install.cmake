# Defines the files that `cmake --install` installs, and their places.
#
# By default these are the programs, their manual pages, the completions for shells, the documents, and
# examples for init systems. With HARICOT_REPLACE_BEANSTALKD, the command, its manual page and the units
# are also installed under the names of beanstalkd. Files below /etc are installed by the package only
# (scripts/package).

option(HARICOT_REPLACE_BEANSTALKD "Install under the names of beanstalkd too" OFF)
set(HARICOT_UNIT_DIR lib/systemd/system CACHE STRING "Folder of the systemd units")
set(HARICOT_AGENT_DIR lib/ocf/resource.d/haricot CACHE STRING "Folder of the resource agent for Pacemaker")
set(HARICOT_ZSH_DIR share/zsh/site-functions CACHE STRING "Folder of the completions for zsh")
set(HARICOT_DEFAULT_FILE /etc/default/beanstalkd CACHE STRING "Settings file of the service")
set(HARICOT_WEB_DEFAULT_FILE /etc/default/haricot-web CACHE STRING "Settings file of the console's service")

install(TARGETS haricotd haricot RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING
        PATTERN "*.md" PATTERN "*.svg" PATTERN "*.png" PATTERN "*.yaml")

install(FILES packaging/man/haricotd.8 DESTINATION ${CMAKE_INSTALL_MANDIR}/man8)
if(EXISTS ${PROJECT_SOURCE_DIR}/packaging/man/haricot.1)
  install(FILES packaging/man/haricot.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
install(FILES packaging/bash-completion/haricot
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES packaging/zsh-completion/_haricot DESTINATION ${HARICOT_ZSH_DIR})
install(FILES packaging/fish-completion/haricot.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# Unless the settings file is Debian's, packaging/settings/settings reads it, which knows the variables of
# other distributions.
set(HARICOT_SETTINGS ${CMAKE_INSTALL_PREFIX}/lib/haricot/settings)
if(HARICOT_DEFAULT_FILE STREQUAL /etc/default/beanstalkd)
  set(HARICOT_START "${CMAKE_INSTALL_FULL_BINDIR}/beanstalkd \
-l \${BEANSTALKD_LISTEN_ADDR} -p \${BEANSTALKD_LISTEN_PORT} $BEANSTALKD_EXTRA")
  set(HARICOT_ENVIRONMENT "Environment=BEANSTALKD_LISTEN_ADDR=127.0.0.1 BEANSTALKD_LISTEN_PORT=11300\n")
else()
  set(HARICOT_START "${HARICOT_SETTINGS} ${HARICOT_DEFAULT_FILE} ${CMAKE_INSTALL_FULL_BINDIR}/beanstalkd")
  set(HARICOT_ENVIRONMENT "")
endif()
install(PROGRAMS packaging/settings/settings packaging/settings/may-restart DESTINATION lib/haricot)

foreach(unit beanstalkd.service beanstalkd.socket haricot-web.service)
  configure_file(packaging/systemd/${unit}.in ${CMAKE_BINARY_DIR}/systemd/${unit} @ONLY)
endforeach()
install(DIRECTORY packaging/prometheus DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
install(PROGRAMS packaging/sysv/beanstalkd DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples/sysv)
install(PROGRAMS packaging/openrc/beanstalkd DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples/openrc)

if(HARICOT_REPLACE_BEANSTALKD)
  set(HARICOT_UNITS_DESTINATION ${HARICOT_UNIT_DIR})
  set(HARICOT_AGENT_DESTINATION ${HARICOT_AGENT_DIR})
  install(FILES packaging/man/beanstalkd.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  # A link, so that the name of the process is beanstalkd.
  file(CREATE_LINK haricotd ${CMAKE_BINARY_DIR}/systemd/beanstalkd SYMBOLIC)
  install(FILES ${CMAKE_BINARY_DIR}/systemd/beanstalkd DESTINATION ${CMAKE_INSTALL_BINDIR})
else()
  set(HARICOT_UNITS_DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples/systemd)
  set(HARICOT_AGENT_DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples/ocf)
endif()
install(PROGRAMS packaging/ocf/haricotd DESTINATION ${HARICOT_AGENT_DESTINATION})
install(FILES ${CMAKE_BINARY_DIR}/systemd/beanstalkd.service
              ${CMAKE_BINARY_DIR}/systemd/beanstalkd.socket
              ${CMAKE_BINARY_DIR}/systemd/haricot-web.service
        DESTINATION ${HARICOT_UNITS_DESTINATION})
