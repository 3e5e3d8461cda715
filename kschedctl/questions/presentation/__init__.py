"""Presentation: conversion of an answer to a document of paragraphs, tables and suggested next commands."""
