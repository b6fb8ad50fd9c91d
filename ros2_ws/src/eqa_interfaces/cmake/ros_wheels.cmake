# Include this straight after project(). Where ROS 2 comes from a distribution it does nothing; where it comes from the
# ros-* Python wheels it tells CMake where they are and mends what they export.
if(DEFINED ENV{ROS_DISTRO})
  return()
endif()

set(Python3_FIND_VIRTUALENV FIRST)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# The prefix is asked of a module because in pip's isolated build environment sys.prefix names another place.
execute_process(
  COMMAND "${Python3_EXECUTABLE}" -c "import pathlib, ament_package as p; print(pathlib.Path(p.__file__).parents[4])"
  OUTPUT_VARIABLE ros_prefix OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "No ROS 2 for ${Python3_EXECUTABLE}: source a ROS distribution, or build with "
    "pip install ${CMAKE_SOURCE_DIR}, which fetches the ros-* wheels")
endif()
message(STATUS "ROS 2 wheels: ${ros_prefix}")
list(PREPEND CMAKE_PREFIX_PATH "${ros_prefix}")
set(ENV{AMENT_PREFIX_PATH} "${ros_prefix}:$ENV{AMENT_PREFIX_PATH}")

# The wheels' imported targets name include directories of the machine they were made on, and CMake refuses those that
# do not exist. find_package() adds targets until the directory's end, so the cleaning waits until then.
function(forget_missing_include_directories)
  get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(directories ${target} INTERFACE_INCLUDE_DIRECTORIES)
    set(present ${directories})
    foreach(directory IN LISTS directories)
      if(IS_ABSOLUTE "${directory}" AND NOT EXISTS "${directory}")
        list(REMOVE_ITEM present "${directory}")
      endif()
    endforeach()
    if(directories)
      set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${present}")
    endif()
  endforeach()
endfunction()
cmake_language(DEFER CALL forget_missing_include_directories)
