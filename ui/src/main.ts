// Starts the front end: settings on the document, then the frame.
import { mount } from 'svelte';
import App from './App.svelte';
import './app.css';
import { applyLook } from './lib/settings.svelte';

applyLook();
matchMedia('(prefers-color-scheme: light)').addEventListener('change', applyLook);

mount(App, { target: document.getElementById('app')! });
